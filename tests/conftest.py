"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# Times on shared machines vary: no deadline, and slow examples are no failure. The same examples each run.
settings.register_profile(
    "condrank", deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("condrank")
