"""`python -m capstan_operator` is the operator; the command for people is `capstanctl`."""

import sys

from capstan_operator.app import main

sys.exit(main.main())
