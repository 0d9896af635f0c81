import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;

/** Workers of the bank, as bank.py: service URL, prefix, and how many of them. */
public class Bank {
    private static final int TOPICS = 8;
    private static final int LIMIT = 90;
    private static final int TOGETHER = 5;
    private static final int TIMEOUT_MS = 4000;
    private static final int LATE_MS = 1000;
    private static final double ABORTED = 0.05;
    private static final double LATE = 0.01;

    private static PulsarClient client;
    private static final List<Producer<byte[]>> producers = new ArrayList<>();

    private final Consumer<byte[]> consumer;

    public static void main(String[] args) throws Exception {
        client = PulsarClient.builder().serviceUrl(args[0]).enableTransaction(true)
                .maxBackoffInterval(500, TimeUnit.MILLISECONDS).build();
        for (int number = 0; number < TOPICS; number++) {
            producers.add(client.newProducer().topic(args[1] + "-" + number)
                    .sendTimeout(0, TimeUnit.SECONDS).create());
        }
        for (int number = 0; number < Integer.parseInt(args[2]); number++) {
            Bank worker = new Bank(args[1] + "-transfers");
            new Thread(worker::run).start();
        }
        System.in.read();  // They end with it.
        Runtime.getRuntime().halt(0);
    }

    private Bank(String topic) throws Exception {
        consumer = client.newConsumer().topic(topic).subscriptionName("bank")
                .subscriptionType(SubscriptionType.Shared)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .receiverQueueSize(2 * TOGETHER)
                .negativeAckRedeliveryDelay(500, TimeUnit.MILLISECONDS)
                .acknowledgmentGroupTime(0, TimeUnit.SECONDS)
                .subscribe();
    }

    private void run() {
        while (true) {
            List<Message<byte[]>> messages = new ArrayList<>();
            try {
                messages.add(consumer.receive());
                while (messages.size() < TOGETHER) {
                    Message<byte[]> another = consumer.receive(0, TimeUnit.MILLISECONDS);
                    if (another == null) {
                        break;
                    }
                    messages.add(another);
                }
                act(messages);
            } catch (Exception error) {
                System.err.println("not done: " + error);
                say("failed", messages);
                messages.forEach(consumer::negativeAcknowledge);
            }
        }
    }

    private void act(List<Message<byte[]>> messages) throws Exception {
        List<Message<byte[]>> refused = new ArrayList<>();
        List<Message<byte[]>> taken = new ArrayList<>();
        for (Message<byte[]> message : messages) {
            (fields(message)[3] > LIMIT ? refused : taken).add(message);
        }
        if (!refused.isEmpty()) {
            Transaction txn = begin(TIMEOUT_MS);
            send(refused, txn);
            txn.abort().get(60, TimeUnit.SECONDS);
            say("refused", refused);
        }
        double chance = ThreadLocalRandom.current().nextDouble();
        boolean late = chance >= ABORTED && chance < ABORTED + LATE;
        Transaction txn = begin(late ? LATE_MS : TIMEOUT_MS);
        List<CompletableFuture<Void>> acknowledged = new ArrayList<>();
        for (Message<byte[]> message : messages) {
            acknowledged.add(consumer.acknowledgeAsync(message.getMessageId(), txn));
        }
        send(taken, txn);
        for (CompletableFuture<Void> each : acknowledged) {
            each.get(60, TimeUnit.SECONDS);
        }
        if (chance < ABORTED) {
            txn.abort().get(60, TimeUnit.SECONDS);
            say("aborted", messages);
        } else if (late) {
            late(messages, txn);
        } else {
            txn.commit().get(60, TimeUnit.SECONDS);
            say("done", messages);
        }
    }

    private void late(List<Message<byte[]>> messages, Transaction txn) throws Exception {
        Thread.sleep(LATE_MS + LATE_MS / 2);
        try {
            txn.commit().get(60, TimeUnit.SECONDS);
        } catch (Exception expected) {
            say("late", messages);
            return;
        }
        throw new IllegalStateException("committed after its time");
    }

    private static Transaction begin(long timeoutMs) throws Exception {
        return client.newTransaction().withTransactionTimeout(timeoutMs, TimeUnit.MILLISECONDS)
                .build().get(60, TimeUnit.SECONDS);
    }

    private static void send(List<Message<byte[]>> transfers, Transaction txn) throws Exception {
        List<CompletableFuture<?>> sent = new ArrayList<>();
        for (Message<byte[]> transfer : transfers) {
            int[] fields = fields(transfer);
            sent.add(change(fields[0], fields[1], -fields[3], txn));
            sent.add(change(fields[0], fields[2], fields[3], txn));
        }
        for (CompletableFuture<?> each : sent) {
            each.get(60, TimeUnit.SECONDS);
        }
    }

    private static CompletableFuture<?> change(int name, int account, int change, Transaction txn) {
        String text = name + ":" + account + ":" + change;
        return producers.get(account % TOPICS).newMessage(txn).value(text.getBytes()).sendAsync();
    }

    private static int[] fields(Message<byte[]> message) {
        String[] texts = new String(message.getData()).split(":");
        int[] fields = new int[texts.length];
        for (int index = 0; index < texts.length; index++) {
            fields[index] = Integer.parseInt(texts[index]);
        }
        return fields;
    }

    private static void say(String outcome, List<Message<byte[]>> messages) {
        StringBuilder line = new StringBuilder(outcome);
        for (Message<byte[]> message : messages) {
            line.append(' ').append(fields(message)[0]);
        }
        System.out.println(line);
    }
}
