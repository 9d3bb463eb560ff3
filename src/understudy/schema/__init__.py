"""Public knowledge only: attributes, domains, taxonomies, views, and the schema file."""

from understudy.schema.attribute import Attribute
from understudy.schema.axis import Axes, Axis
from understudy.schema.csv_dialect import CsvDialect
from understudy.schema.domain import Domain, Floats, Integers, Mask
from understudy.schema.intervals import Intervals
from understudy.schema.scales.booleans import Booleans
from understudy.schema.scales.categories import Categories
from understudy.schema.scales.identifiers import Dropped, Identifier
from understudy.schema.table import MAX_ROWS, Schema
from understudy.schema.taxonomy import Taxonomy

__all__ = [
    "MAX_ROWS", "Attribute", "Axes", "Axis", "Booleans", "Categories", "CsvDialect", "Domain", "Dropped", "Floats",
    "Identifier", "Integers", "Intervals", "Mask", "Schema", "Taxonomy",
]  # fmt: skip
