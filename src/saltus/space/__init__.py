"""The user's variables, and the coordinates in which a strategy sees them."""

from .categorical import Categorical
from .conditions import at_least, at_most
from .encoding import Encoding
from .lattice import Lattice
from .space import Space
from .unit import UnitCube
from .variable import Variable
from .variables import Bool, Float, Int, Ordinal

__all__ = ["Bool", "Categorical", "Encoding", "Float", "Int", "Lattice", "Ordinal", "Space"]
__all__ += ["UnitCube", "Variable", "at_least", "at_most"]
