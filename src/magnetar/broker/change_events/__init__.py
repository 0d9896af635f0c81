"""The policies of topics in a cluster: events in the topic ``__change_events`` of each namespace.

definition.py       the Avro schema of an event, as Pulsar has it
event.py            one event: its key, the policies in it, its message
event_value.py      the policies as bytes, in a version of the schema
event_logs.py       at the owner of such a topic: what is in it, and appends to it
event_owners.py     asks the owner, which may be this broker
topic_policies.py   what every broker knows of the events, kept up to date: a TopicPolicyStore
"""
