"""``condrank demo``: two relations learned and judged on new nodes. `run_demo` computes, the command line prints."""

from condrank.demo.results import DemoResult, Task, UnseenClasses
from condrank.demo.stories import count_steps, run_demo

__all__ = ["DemoResult", "Task", "UnseenClasses", "count_steps", "run_demo"]
