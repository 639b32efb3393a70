"""Puts the program WHEEL_PROGRAM into a wheel for the platforms of WHEEL_TAG, as the command echosieve."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["WHEEL_TAG"]
        build_data["shared_scripts"][os.environ["WHEEL_PROGRAM"]] = "echosieve"
