"""Types of numpy arrays in evaluation. Inference has checked dtype and rank, so these types leave both open."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Number = int | float | np.number[Any]
Scalar = np.number[Any]
