// Publishes numbers to the topics that follow the service URL until its input ends, and prints each
// answer: "A topic number ledger", or "R topic number why"; at last "S numbers", how many it sent.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

public class Load {
    static volatile boolean ending = false;

    public static void main(String[] arguments) throws Exception {
        PulsarClient client = PulsarClient.builder().serviceUrl(arguments[0]).build();
        List<Producer<byte[]>> producers = new ArrayList<>();
        for (int topic = 1; topic < arguments.length; topic++) {
            producers.add(client.newProducer().topic(arguments[topic]).enableBatching(false)
                .sendTimeout(0, TimeUnit.SECONDS).blockIfQueueFull(true).create());
        }
        Thread input = new Thread(Load::awaitEnd);
        input.setDaemon(true);
        input.start();
        int number = 0;
        for (; !ending; number++) {
            for (int topic = 0; topic < producers.size(); topic++) {
                send(producers.get(topic), topic, number);
            }
            Thread.sleep(20);
        }
        for (Producer<byte[]> producer : producers) {
            producer.flush();
        }
        say("S " + number);
        client.close();
    }

    static void send(Producer<byte[]> producer, int topic, int number) {
        producer.sendAsync(Integer.toString(number).getBytes()).whenComplete((id, error) -> say(
            error == null
                ? "A " + topic + " " + number + " " + ((MessageIdAdv) id).getLedgerId()
                : "R " + topic + " " + number + " " + error));
    }

    static void awaitEnd() {
        try {
            while (System.in.read() != -1) {
            }
        } catch (java.io.IOException error) {
            say("R 0 0 " + error);
        }
        ending = true;
    }

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
