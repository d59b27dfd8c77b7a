"""What a notebook shows: spaces, results and studies as small tables, the report in the page, data frames.

The classes themselves have the methods (`_repr_html_`, `to_dataframe`, `report`); they load this room when
they are called.
"""
