"""Public knowledge only: attributes, domains, taxonomies, views, and the schema file."""

from understudy.schema.attribute import Attribute
from understudy.schema.axis import Axes, Axis
from understudy.schema.domain import Booleans, Categories, Domain, Dropped, Identifier, Intervals
from understudy.schema.table import MAX_ROWS, Dialect, Schema
from understudy.schema.taxonomy import Taxonomy

__all__ = [
    "MAX_ROWS", "Attribute", "Axes", "Axis", "Booleans", "Categories", "Dialect", "Domain", "Dropped", "Identifier",
    "Intervals", "Schema", "Taxonomy",
]  # fmt: skip
