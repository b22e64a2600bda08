"""What an application serves: the arguments of `app:build`, checked before anything starts."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

EMBEDDED = "inferflux-tiny"  # the model that comes with InferFlux
MODEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")


class ModelSettings(BaseModel):
    """One model, which is one deployment: each of its replicas is an inferfluxd with that model."""

    model_config = ConfigDict(extra="forbid")

    id: str
    path: str = ""  # a file or directory on every node; empty for the model that comes with InferFlux
    min_replicas: int = Field(1, ge=1, le=10_000)
    max_replicas: int = Field(1, ge=1, le=10_000)
    cpus: float = Field(1, gt=0)  # of a node, for each replica; its server computes with that many threads
    gpus: float = Field(0, ge=0)
    arguments: list[str] = []  # further flags of inferfluxd
    requests_per_replica: int = Field(16, ge=1)  # running and waiting; the autoscaler's aim
    most_requests: int = Field(256, ge=1)  # on one replica at once; more wait in the gateway
    kv_pressure: float = Field(0.9, gt=0, le=1)  # share of KV in use from which one more replica is started
    upscale_delay_s: float = Field(10, ge=0)
    downscale_delay_s: float = Field(300, ge=0)
    load_timeout_s: float = Field(600, gt=0)  # from the start of the process to /readyz
    drain_timeout_s: float = Field(120, gt=0)  # for running requests, when a replica goes

    @field_validator("id")
    @classmethod
    def _id(cls, value: str) -> str:
        if not MODEL_ID.fullmatch(value):
            raise ValueError(f"'{value}' is not a model id: at most 128 letters, digits and . _ : / -, a letter or digit first")
        return value

    @model_validator(mode="after")
    def _whole(self) -> "ModelSettings":
        if not self.path and self.id != EMBEDDED:
            raise ValueError(f"model {self.id}: path is missing; only {EMBEDDED}, which comes with InferFlux, has none")
        if self.max_replicas < self.min_replicas:
            raise ValueError(f"model {self.id}: max_replicas ({self.max_replicas}) is below min_replicas ({self.min_replicas})")
        return self


class AppSettings(BaseModel):
    """The arguments of the application in a Serve configuration (`args:`)."""

    model_config = ConfigDict(extra="forbid")

    models: list[ModelSettings] = Field(min_length=1)
    program: str = "inferfluxd"  # on every node: a path, or a name on the PATH
    # Hashed API keys, as for server.api_keys_file; on every node. Empty: only this application calls its servers, with a key that
    # it makes, and every client that reaches Serve's proxy may generate.
    api_keys_file: str = ""
    gateways: int = Field(1, ge=1, le=1_000)
    # Where gateways run: with Ray's head, so that losing another node cuts no stream of the others.
    gateway_resources: dict[str, float] = {"node:__internal_head__": 0.001}
    attempts: int = Field(3, ge=1, le=10)  # of a request whose answer has not begun
    request_timeout_s: float = Field(3_600, gt=0)
    most_body_bytes: int = Field(32 << 20, ge=1)

    @field_validator("api_keys_file")
    @classmethod
    def _keys(cls, value: str) -> str:
        if value and not Path(value).is_absolute():
            raise ValueError(f"api_keys_file '{value}' is not an absolute path: each node reads it")
        return value

    @model_validator(mode="after")
    def _ids(self) -> "AppSettings":
        ids = [model.id for model in self.models]
        for each in ids:
            if ids.count(each) > 1:
                raise ValueError(f"two models have the id '{each}'")
        return self
