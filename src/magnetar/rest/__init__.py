"""An HTTP server for routes that answer in JSON. It knows no brokers."""
