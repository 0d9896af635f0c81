import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;

/**
 * What the Java client does in transactions. A line is printed for each step that is over; what
 * came of it is looked at from outside. After "restart" it waits for a line of its input.
 */
public class Transactions {
    private static PulsarClient client;

    public static void main(String[] args) throws Exception {
        client = PulsarClient.builder().serviceUrl(args[0]).enableTransaction(true).build();
        step("commit", () -> sends("commit", plain("commit"), 10, true));
        step("abort", () -> sends("abort", plain("abort"), 10, false));
        step("batched", () -> sends("batched", plain("batched").enableBatching(true)
                .batchingMaxMessages(10).batchingMaxPublishDelay(1, TimeUnit.SECONDS), 25, true));
        step("chunked", Transactions::chunked);
        step("ten topics", Transactions::tenTopics);
        step("acknowledged", () -> acknowledges("acknowledged", true, false));
        step("given back", () -> acknowledges("given-back", false, false));
        step("cumulative", () -> acknowledges("cumulative", true, true));
        step("part of a batch", Transactions::partOfBatch);
        step("conflict", Transactions::conflict);
        step("time out", Transactions::timesOut);
        step("moved", Transactions::moves);
        step("reconnect", Transactions::reconnects);
        client.close();
        System.exit(0);  // Or its threads hold the process for seconds.
    }

    private interface Step {
        String run() throws Exception;
    }

    private static void step(String name, Step step) {
        String outcome;
        try {
            outcome = step.run();
        } catch (Throwable error) {
            error.printStackTrace();
            outcome = "failed " + error;
        }
        System.out.println(name + ": " + outcome);
    }

    private static String topic(String name) {
        return "persistent://public/default/java-" + name;
    }

    private static ProducerBuilder<byte[]> plain(String name) {
        return client.newProducer().topic(topic(name)).enableBatching(false)
                .sendTimeout(0, TimeUnit.SECONDS);
    }

    private static Consumer<byte[]> consumer(String name, SubscriptionType type) throws Exception {
        return client.newConsumer().topic(topic(name)).subscriptionName("s").subscriptionType(type)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .enableBatchIndexAcknowledgment(true)
                .acknowledgmentGroupTime(0, TimeUnit.SECONDS)
                .subscribe();
    }

    private static Transaction begin(long seconds) throws Exception {
        return client.newTransaction().withTransactionTimeout(seconds, TimeUnit.SECONDS)
                .build().get(30, TimeUnit.SECONDS);
    }

    private static void end(Transaction txn, boolean commit) throws Exception {
        (commit ? txn.commit() : txn.abort()).get(60, TimeUnit.SECONDS);
    }

    private static void send(Producer<byte[]> producer, Transaction txn, int from, int count)
            throws Exception {
        List<CompletableFuture<MessageId>> sent = new ArrayList<>();
        for (int number = from; number < from + count; number++) {
            sent.add(producer.newMessage(txn).value(("" + number).getBytes()).sendAsync());
        }
        for (CompletableFuture<MessageId> each : sent) {
            each.get(60, TimeUnit.SECONDS);
        }
    }

    private static String sends(String name, ProducerBuilder<byte[]> how, int count, boolean commit)
            throws Exception {
        try (Producer<byte[]> producer = how.create()) {
            Transaction txn = begin(60);
            send(producer, txn, 0, count);
            end(txn, commit);
            producer.send("last".getBytes());
            return txn.getState().name();
        }
    }

    private static String chunked() throws Exception {
        ProducerBuilder<byte[]> how = plain("chunked").enableChunking(true)
                .chunkMaxMessageSize(1000);
        try (Producer<byte[]> producer = how.create()) {
            Transaction txn = begin(60);
            producer.newMessage(txn).value(new byte[20_000]).send();
            end(txn, true);
            Transaction aborted = begin(60);
            producer.newMessage(aborted).value(new byte[30_000]).send();
            end(aborted, false);
            return txn.getState().name();
        }
    }

    private static String tenTopics() throws Exception {
        List<Producer<byte[]>> producers = new ArrayList<>();
        for (int number = 0; number < 10; number++) {
            producers.add(plain("ten-" + number).create());
        }
        for (boolean commit : new boolean[] {true, false}) {
            Transaction txn = begin(60);
            for (Producer<byte[]> producer : producers) {
                producer.newMessage(txn).value(("" + commit).getBytes()).send();
            }
            end(txn, commit);
        }
        for (Producer<byte[]> producer : producers) {
            producer.close();
        }
        return "done";
    }

    /** Of ten messages it acknowledges the first five. */
    private static String acknowledges(String name, boolean commit, boolean cumulative)
            throws Exception {
        SubscriptionType type = cumulative ? SubscriptionType.Exclusive : SubscriptionType.Shared;
        try (Producer<byte[]> producer = plain(name).create();
                Consumer<byte[]> consumer = consumer(name, type)) {
            for (int number = 0; number < 10; number++) {
                producer.send(("" + number).getBytes());
            }
            Transaction txn = begin(60);
            Message<byte[]> last = null;
            for (int number = 0; number < 5; number++) {
                last = consumer.receive(30, TimeUnit.SECONDS);
                if (!cumulative) {
                    consumer.acknowledgeAsync(last.getMessageId(), txn).get(30, TimeUnit.SECONDS);
                }
            }
            if (cumulative) {
                consumer.acknowledgeCumulativeAsync(last.getMessageId(), txn)
                        .get(30, TimeUnit.SECONDS);
            }
            end(txn, commit);
            return txn.getState().name();
        }
    }

    /** Of a batch of ten it acknowledges every other one, in two transactions. */
    private static String partOfBatch() throws Exception {
        ProducerBuilder<byte[]> how = plain("part").enableBatching(true).batchingMaxMessages(10)
                .batchingMaxPublishDelay(5, TimeUnit.SECONDS);
        try (Producer<byte[]> producer = how.create();
                Consumer<byte[]> consumer = consumer("part", SubscriptionType.Shared)) {
            List<CompletableFuture<MessageId>> sent = new ArrayList<>();
            for (int number = 0; number < 10; number++) {
                sent.add(producer.newMessage().value(("" + number).getBytes()).sendAsync());
            }
            for (CompletableFuture<MessageId> each : sent) {
                each.get(30, TimeUnit.SECONDS);
            }
            Transaction committed = begin(60);
            Transaction aborted = begin(60);
            for (int number = 0; number < 10; number++) {
                Message<byte[]> message = consumer.receive(30, TimeUnit.SECONDS);
                Transaction txn = number % 2 == 0 ? committed : aborted;
                consumer.acknowledgeAsync(message.getMessageId(), txn).get(30, TimeUnit.SECONDS);
            }
            end(committed, true);
            end(aborted, false);
            return "done";
        }
    }

    private static String conflict() throws Exception {
        try (Producer<byte[]> producer = plain("conflict").create();
                Consumer<byte[]> consumer = consumer("conflict", SubscriptionType.Shared)) {
            producer.send("once".getBytes());
            MessageId id = consumer.receive(30, TimeUnit.SECONDS).getMessageId();
            Transaction first = begin(60);
            Transaction second = begin(60);
            consumer.acknowledgeAsync(id, first).get(30, TimeUnit.SECONDS);
            String refused = refusal(consumer.acknowledgeAsync(id, second));
            end(second, false);
            end(first, true);
            return refused;
        }
    }

    private static String timesOut() throws Exception {
        try (Producer<byte[]> producer = plain("late").create()) {
            Transaction txn = begin(1);
            send(producer, txn, 0, 5);
            producer.send("last".getBytes());
            Consumer<byte[]> consumer = consumer("late", SubscriptionType.Exclusive);
            String seen = new String(consumer.receive(30, TimeUnit.SECONDS).getData());
            consumer.close();
            return seen + " " + refusal(txn.commit());
        }
    }

    /** From one topic to another, ten messages a transaction; every other one is tried twice. */
    private static String moves() throws Exception {
        try (Producer<byte[]> source = plain("from").create();
                Producer<byte[]> target = plain("to").create();
                Consumer<byte[]> consumer = consumer("from", SubscriptionType.Shared)) {
            for (int number = 0; number < 100; number++) {
                source.send(("" + number).getBytes());
            }
            int ended = 0;
            for (int moved = 0; moved < 100; ended++) {
                Transaction txn = begin(60);
                for (int number = 0; number < 10; number++) {
                    Message<byte[]> message = consumer.receive(30, TimeUnit.SECONDS);
                    target.newMessage(txn).value(message.getData()).send();
                    consumer.acknowledgeAsync(message.getMessageId(), txn)
                            .get(30, TimeUnit.SECONDS);
                }
                boolean commit = ended % 2 == 1;
                end(txn, commit);
                moved += commit ? 10 : 0;
            }
            return ended + " ended";
        }
    }

    private static String reconnects() throws Exception {
        try (Producer<byte[]> producer = plain("reconnect").create()) {
            Transaction txn = begin(60);
            send(producer, txn, 0, 5);
            System.out.println("restart");
            System.in.read();
            send(producer, txn, 5, 5);
            end(txn, true);
            return txn.getState().name();
        }
    }

    private static String refusal(CompletableFuture<Void> asked) throws Exception {
        try {
            asked.get(60, TimeUnit.SECONDS);
            return "taken";
        } catch (ExecutionException | CompletionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }
}
