"""`python -m capstan_operator` is `capstanctl`."""

import sys

from capstan_operator.cli import main

sys.exit(main.main())
