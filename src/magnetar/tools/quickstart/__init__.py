"""``magnetar quickstart``: a year of real flights through broker, client and Spark, added up."""
