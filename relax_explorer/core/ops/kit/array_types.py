"""The numpy arrays that evaluation takes and gives: of any dtype and any rank, which inference has checked."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Number = int | float | np.number[Any]
Scalar = np.number[Any]
