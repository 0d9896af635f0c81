"""The program that a campaign kills: a function in a Spark session, started again when it ends."""

import json
import sys

from pyspark.errors import StreamingQueryException

from magnetar.functions.config import FunctionConfig
from magnetar.functions.job import FunctionJob
from magnetar.functions.source import BrokerAccess
from magnetar.spark.session import session


def main(service_url, admin_url, config):
    spark = session("functioning", master="local[4]")
    while True:
        job = FunctionJob(
            spark, FunctionConfig.parse(json.loads(config)), BrokerAccess(service_url, admin_url)
        )
        print("under way", flush=True)
        try:
            job.wait()
        except StreamingQueryException as error:  # A worker was killed, say.
            print(f"ended: {type(error).__name__}", file=sys.stderr)
        job.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
