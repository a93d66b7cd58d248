"""Limits and token of a service from the environment: ``CONDRANK_MAX_K``, ``CONDRANK_TOKEN`` and so on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from condrank.service.limits import Limits

PREFIX = "CONDRANK_"
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def check_token(token: SecretStr | str | None) -> SecretStr | None:
    """The token as a secret, which no repr and no log shows; a ValueError if it cannot be sent in a header."""
    if token is None:
        return None
    text = token.get_secret_value() if isinstance(token, SecretStr) else token
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("token must be one or more ASCII characters without spaces")
    return SecretStr(text)


class ServiceSettings(BaseSettings):
    """What a service is started with. A value that is given wins over the environment, and that over the default.

    The environment variables have the names of the fields in capitals with ``CONDRANK_`` before them; an empty one
    counts as not set.

    Attributes
    ----------
    token : SecretStr or None
        Bearer token that requests must bring.
    max_body, max_k, max_queries, timeout, workers, max_waiting : int or float
        ``body``, ``k``, ``queries``, ``seconds``, ``workers`` and ``waiting`` of `Limits`.
    head_timeout, max_connections, max_per_client : float or int
        ``head``, ``connections`` and ``per_client`` of `Limits`.
    max_added : int
        ``added`` of `Limits`.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    token: Annotated[SecretStr | None, AfterValidator(check_token)] = None
    max_body: Count = Limits.body
    max_k: Count = Limits.k
    max_queries: Count = Limits.queries
    timeout: Seconds = Limits.seconds
    workers: Count = Limits.workers
    max_waiting: Annotated[int, Field(ge=0)] = Limits.waiting
    head_timeout: Seconds = Limits.head
    max_connections: Count = Limits.connections
    max_per_client: Count = Limits.per_client
    max_added: Count = Limits.added

    @property
    def limits(self) -> Limits:
        """The limits, as `create_app` takes them."""
        return Limits(
            body=self.max_body,
            k=self.max_k,
            queries=self.max_queries,
            seconds=self.timeout,
            workers=self.workers,
            waiting=self.max_waiting,
            head=self.head_timeout,
            connections=self.max_connections,
            per_client=self.max_per_client,
            added=self.max_added,
        )


def read_settings(given: dict[str, Any] | None = None) -> ServiceSettings:
    """The settings of some given values and the environment; a ValueError names the first that is wrong.

    Parameters
    ----------
    given : dict, optional
        Values by name of their field. They win over the environment.
    """
    given = given or {}
    try:
        return ServiceSettings(**given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    name = str(first["loc"][0])
    source = name if name in given else PREFIX + name.upper()
    if name == "token":  # its value must not be repeated
        raise ValueError(f"{source} must be one or more ASCII characters without spaces")
    expected = first["msg"].replace("Input should be", "must be")
    raise ValueError(f"{source} {expected}, got {first['input']!r:.60}")
