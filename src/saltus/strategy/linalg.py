"""The matrix exponential of DX-NES-IC, in O(N^2 lambda) instead of O(N^3).

Mirrored candidates share z z^T, so the gradient of B is S = Z^T diag(a) Z with Z the lambda/2 drawn z and a
the weights of a pair added up. Its rank is at most lambda/2, and so is that of exp(S) - I. The small
eigenproblems call LAPACK directly: at these sizes the usual wrappers cost more than the work.

SciPy is imported where it is called, here and in all that a worker process loads: to import it takes longer
than all the rest, and a worker, or a command that only reads a record, never calls it.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np

from .._typing import FloatArray


@cache
def lapack() -> ModuleType:
    """SciPy's LAPACK, imported when it is first called."""
    from scipy.linalg import lapack

    return lapack


def expm1_factors(a: FloatArray, gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """T and e with exp(Z^T diag(a) Z) = I + R^T diag(e) R, where R = T Z and gram = Z Z^T.

    Eigenvectors of S = Z^T diag(a) Z are Z^T c with diag(a) gram c = d c: a small symmetric-definite
    eigenproblem. LAPACK scales its solutions to c^T gram c = 1, which makes the rows of R orthonormal.
    """
    d, C, failed = lapack().dsygvd(np.diag(a), gram, itype=2)
    if failed:
        raise np.linalg.LinAlgError("the drawn z are not finite, or not independent")
    return C.T, np.expm1(d)


def expm1_symmetric(s: FloatArray) -> FloatArray:
    """exp(s) - I of a symmetric matrix."""
    d, U = eigh(s)
    return np.asarray((U * np.expm1(d)) @ U.T)


def eigh(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    d, U, failed = lapack().dsyevd(s, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance matrix has no eigendecomposition: not finite?")
    return d, U


def row_norms2(matrix: FloatArray) -> FloatArray:
    """Squared length of each row."""
    return np.asarray(np.vecdot(matrix, matrix))
