"""Problems to try, one folder each."""
