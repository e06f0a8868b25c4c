"""`tf.contrib.gan.eval`: summaries of models, and measures of generated images."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.gan.classifier_graphs import (
    INCEPTION_DEFAULT_IMAGE_SIZE as INCEPTION_DEFAULT_IMAGE_SIZE,
)
from capstan.contrib.gan.classifier_graphs import (
    get_graph_def_from_disk as get_graph_def_from_disk,
)
from capstan.contrib.gan.classifier_graphs import (
    get_graph_def_from_resource as get_graph_def_from_resource,
)
from capstan.contrib.gan.classifier_graphs import (
    get_graph_def_from_url_tarball as get_graph_def_from_url_tarball,
)
from capstan.contrib.gan.classifier_graphs import preprocess_image as preprocess_image
from capstan.contrib.gan.classifier_graphs import run_image_classifier as run_image_classifier
from capstan.contrib.gan.classifier_graphs import run_inception as run_inception
from capstan.contrib.gan.classifier_metrics import classifier_score as classifier_score
from capstan.contrib.gan.classifier_metrics import (
    classifier_score_from_logits as classifier_score_from_logits,
)
from capstan.contrib.gan.classifier_metrics import (
    diagonal_only_frechet_classifier_distance_from_activations as diagonal_only_frechet_classifier_distance_from_activations,  # noqa: E501
)
from capstan.contrib.gan.classifier_metrics import (
    frechet_classifier_distance as frechet_classifier_distance,
)
from capstan.contrib.gan.classifier_metrics import (
    frechet_classifier_distance_from_activations as frechet_classifier_distance_from_activations,
)
from capstan.contrib.gan.classifier_metrics import (
    frechet_inception_distance as frechet_inception_distance,
)
from capstan.contrib.gan.classifier_metrics import inception_score as inception_score
from capstan.contrib.gan.classifier_metrics import (
    mean_only_frechet_classifier_distance_from_activations as mean_only_frechet_classifier_distance_from_activations,  # noqa: E501
)
from capstan.contrib.gan.images import image_grid as image_grid
from capstan.contrib.gan.images import image_reshaper as image_reshaper
from capstan.contrib.gan.kernel_distances import (
    kernel_classifier_distance as kernel_classifier_distance,
)
from capstan.contrib.gan.kernel_distances import (
    kernel_classifier_distance_and_std as kernel_classifier_distance_and_std,
)
from capstan.contrib.gan.kernel_distances import (
    kernel_classifier_distance_and_std_from_activations as kernel_classifier_distance_and_std_from_activations,  # noqa: E501
)
from capstan.contrib.gan.kernel_distances import (
    kernel_classifier_distance_from_activations as kernel_classifier_distance_from_activations,
)
from capstan.contrib.gan.kernel_distances import (
    kernel_inception_distance as kernel_inception_distance,
)
from capstan.contrib.gan.kernel_distances import (
    kernel_inception_distance_and_std as kernel_inception_distance_and_std,
)
from capstan.contrib.gan.model_summaries import (
    add_cyclegan_image_summaries as add_cyclegan_image_summaries,
)
from capstan.contrib.gan.model_summaries import (
    add_gan_model_image_summaries as add_gan_model_image_summaries,
)
from capstan.contrib.gan.model_summaries import add_gan_model_summaries as add_gan_model_summaries
from capstan.contrib.gan.model_summaries import (
    add_image_comparison_summaries as add_image_comparison_summaries,
)
from capstan.contrib.gan.model_summaries import (
    add_regularization_loss_summaries as add_regularization_loss_summaries,
)
from capstan.contrib.gan.model_summaries import (
    add_stargan_image_summaries as add_stargan_image_summaries,
)
from capstan.contrib.gan.sliced_distances import (
    sliced_wasserstein_distance as sliced_wasserstein_distance,
)
from capstan.core import alias, public

alias.grow(
    __name__,
    {
        "classifier_metrics": (
            "capstan.contrib.gan.classifier_metrics",
            "capstan.contrib.gan.classifier_graphs",
            "capstan.contrib.gan.kernel_distances",
        ),
        "eval_utils": ("capstan.contrib.gan.images",),
        "sliced_wasserstein": ("capstan.contrib.gan.sliced_distances",),
        "summaries": ("capstan.contrib.gan.model_summaries",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.gan.eval", name)


def __dir__() -> list[str]:
    return public.names(globals())
