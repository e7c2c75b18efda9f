//! Recorders, histograms and the report's data model.
