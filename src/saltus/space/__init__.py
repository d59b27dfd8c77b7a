"""The user's variables, and the coordinates in which a strategy sees them."""

from .encoding import Encoding
from .lattice import Lattice
from .space import Space
from .unit import UnitCube
from .variables import Bool, Float, Int, Ordinal, Variable

__all__ = ["Bool", "Encoding", "Float", "Int", "Lattice", "Ordinal", "Space", "UnitCube", "Variable"]
