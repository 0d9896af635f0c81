from magnetar.broker.settings.housekeeping import HousekeepingSettings


def test_what_operators_say_in_minutes_is_counted_in_seconds():
    settings = HousekeepingSettings(expiry_check_minutes=0.1, subscription_check_minutes=2)
    assert settings.expiry_check_s == 6
    assert settings.subscription_check_s == 120
