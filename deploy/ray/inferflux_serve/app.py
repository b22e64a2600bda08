"""`build(args)`: the application of a Serve configuration (`import_path: inferflux_serve.app:build`)."""

from __future__ import annotations

from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig

from .gateway import Gateway
from .replica import Replica
from .router import PrefixRouter
from .scaling import ByLoad
from .settings import AppSettings, ModelSettings

MANY = 10  # times most_requests that may wait for a model


def deployment_name(model: ModelSettings) -> str:
    return "model-" + "".join(c if c.isalnum() or c in "-_." else "-" for c in model.id)


def model_deployment(model: ModelSettings, app: AppSettings) -> serve.Application:
    policy = AutoscalingPolicy(policy_function=ByLoad, policy_kwargs={"requests_per_replica": model.requests_per_replica, "kv_pressure": model.kv_pressure})
    scaling = AutoscalingConfig(
        min_replicas=model.min_replicas, max_replicas=model.max_replicas, upscale_delay_s=model.upscale_delay_s,
        downscale_delay_s=model.downscale_delay_s, metrics_interval_s=2, look_back_period_s=6, policy=policy)
    return serve.deployment(
        Replica,
        name=deployment_name(model),
        autoscaling_config=scaling,
        max_ongoing_requests=model.most_requests,
        max_queued_requests=MANY * model.most_requests,
        ray_actor_options={"num_cpus": model.cpus, "num_gpus": model.gpus},
        request_router_config=RequestRouterConfig(request_router_class=PrefixRouter),
        health_check_period_s=2,
        health_check_timeout_s=10,
        graceful_shutdown_wait_loop_s=0.5,
        graceful_shutdown_timeout_s=model.drain_timeout_s,
    ).bind(model.model_dump(), app.model_dump())


def build(args: dict) -> serve.Application:
    app = AppSettings(**args)
    names = [deployment_name(model) for model in app.models]
    if len(set(names)) < len(names):
        raise ValueError("two model ids become the same deployment name: " + ", ".join(names))
    models = {model.id: model_deployment(model, app) for model in app.models}
    gateway = serve.deployment(Gateway, name="gateway", num_replicas=app.gateways, max_ongoing_requests=1_000,
                               ray_actor_options={"num_cpus": 0, "resources": app.gateway_resources})
    return gateway.bind(app.model_dump(), models)
