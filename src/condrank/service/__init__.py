"""A fitted model as a web service: rankings, scores and nodes over HTTP; needs the extra ``serve``."""

try:
    from condrank.service.app import create_app
    from condrank.service.holder import ModelHolder
    from condrank.service.limits import Limits
    from condrank.service.settings import ServiceSettings
except ModuleNotFoundError as error:
    raise ImportError(f"condrank.service needs {error.name}: pip install 'condrank[serve]'") from error

__all__ = ["Limits", "ModelHolder", "ServiceSettings", "create_app"]
