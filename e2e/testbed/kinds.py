"""Wait for the kinds of CRDs. The API server accepts a CRD before it serves the kind."""

from collections.abc import Iterator

from testbed.api import Api, ApiError, Json

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def are_served(api: Api) -> bool:
    """Return whether the API server serves all kinds of all CRDs."""
    return all(_is_served(api, path) for crd in api.list(CRDS) for path in _collections(crd))


def _is_served(api: Api, path: str) -> bool:
    try:
        api.get(path, limit=1)
    except ApiError as error:
        if error.status not in (404, 503):
            raise
        return False
    return True


def _collections(crd: Json) -> Iterator[str]:
    """Yield the path of a CRD's objects, for each version that the server must serve."""
    spec = crd["spec"]
    for version in spec["versions"]:
        if version["served"]:
            yield f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
