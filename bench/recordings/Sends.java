import java.util.Random;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

/** What record.py records of the official Java client. */
public class Sends {
    public static void main(String[] args) throws Exception {
        Random chance = new Random(1);
        try (PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).build()) {
            for (boolean batching : new boolean[] {false, true}) {
                Producer<byte[]> producer = client.newProducer()
                        .topic("persistent://public/default/recorded")
                        .enableBatching(batching)
                        .blockIfQueueFull(true)
                        .create();
                for (int number = 0; number < (batching ? 4000 : 400); number++) {
                    byte[] body = new byte[717 + chance.nextInt(615)];
                    java.util.Arrays.fill(body, (byte) 'x');
                    producer.newMessage()
                            .key("customer-" + chance.nextInt(1000))
                            .property("source", "orders")
                            .property("region", chance.nextBoolean() ? "eu-central" : "us-east")
                            .property("trace", Long.toHexString(chance.nextLong()))
                            .value(body)
                            .sendAsync();
                }
                producer.flush();
            }
        }
    }
}
