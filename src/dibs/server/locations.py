"""What callers with a credential are not told: where on the server's machine the workspace is.

They may be on any machine and of any rank; a folder of the server's is of no use to them and none of their business.
The folder's name stands for it: `shop/.dibs/local/dibs.db`. The log stays as it is: it names working trees, by which
its readers tell them apart, and what it says is sealed.
"""

from __future__ import annotations

from os.path import basename

from dibs.operations.core.query import HERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json
    from dibs.workspace.location import Place


def hide(place: Place, value: Json) -> Json:
    """The same value, its texts without the folders that lead to the workspace."""
    if isinstance(value, str):
        for folder in {place.root, place.top}:
            if len(folder) > 1:
                value = value.replace(folder, basename(folder))
        return value
    if isinstance(value, dict):
        return {name: hide(place, one) for name, one in value.items()}
    if isinstance(value, list):
        return [hide(place, one) for one in value]
    return value


def hide_in(place: Place, error: DibsError) -> DibsError:
    """The same error, whose words and facts name no such folder."""
    error.message = hide(place, error.message)
    error.fields = hide(place, error.fields)
    error.args = (error.message,)
    return error


def concerns(operation: Operation) -> bool:
    """Does an answer speak of this machine: is it a query about it, or are files written around it?"""
    return HERE in operation.wants or bool(operation.around)
