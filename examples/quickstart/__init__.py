"""The main job: flights through a broker and a Spark pipeline, reconciled."""
