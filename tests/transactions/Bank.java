import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;

/** Workers of the bank, as bank.py: each is a thread. SERVICE_URL PREFIX WORKERS */
public class Bank {
    private static final int TOPICS = 8;
    private static final int TOGETHER = 5;
    private static final int TIMEOUT_S = 4;

    public static void main(String[] args) throws Exception {
        PulsarClient client = PulsarClient.builder().serviceUrl(args[0]).enableTransaction(true)
                .startingBackoffInterval(50, TimeUnit.MILLISECONDS)
                .maxBackoffInterval(500, TimeUnit.MILLISECONDS).build();
        List<Producer<byte[]>> producers = new ArrayList<>();
        for (int number = 0; number < TOPICS; number++) {
            producers.add(client.newProducer().topic(args[1] + "-" + number)
                    .sendTimeout(0, TimeUnit.SECONDS).create());
        }
        for (int worker = 0; worker < Integer.parseInt(args[2]); worker++) {
            Consumer<byte[]> consumer = client.newConsumer().topic(args[1] + "-transfers")
                    .subscriptionName("bank").subscriptionType(SubscriptionType.Shared)
                    .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                    .negativeAckRedeliveryDelay(100, TimeUnit.MILLISECONDS)
                    .receiverQueueSize(2 * TOGETHER).subscribe();
            new Thread(() -> work(client, producers, consumer)).start();
        }
    }

    private static void work(
            PulsarClient client, List<Producer<byte[]>> producers, Consumer<byte[]> consumer) {
        while (true) {
            List<Message<byte[]>> transfers = new ArrayList<>();
            Transaction transaction = null;
            try {
                transfers.add(consumer.receive());
                while (transfers.size() < TOGETHER) {
                    Message<byte[]> next = consumer.receive(1, TimeUnit.MILLISECONDS);
                    if (next == null) {
                        break;
                    }
                    transfers.add(next);
                }
                transaction = client.newTransaction()
                        .withTransactionTimeout(TIMEOUT_S, TimeUnit.SECONDS).build().get();
                List<CompletableFuture<?>> asked = new ArrayList<>();
                for (Message<byte[]> transfer : transfers) {
                    asked.add(consumer.acknowledgeAsync(transfer.getMessageId(), transaction));
                    String[] parts = new String(transfer.getData()).split(":");
                    asked.add(change(producers, transaction, parts[0], parts[1], "-" + parts[3]));
                    asked.add(change(producers, transaction, parts[0], parts[2], parts[3]));
                }
                CompletableFuture.allOf(asked.toArray(new CompletableFuture<?>[0])).get();
                transaction.commit().get();
            } catch (Exception error) {
                System.err.println("not done: " + error);
                giveBack(transaction, consumer, transfers);
            }
        }
    }

    private static CompletableFuture<MessageId> change(List<Producer<byte[]>> producers,
            Transaction transaction, String name, String account, String change) {
        return producers.get(Integer.parseInt(account) % TOPICS).newMessage(transaction)
                .value((name + ":" + account + ":" + change).getBytes()).sendAsync();
    }

    /** What was not acknowledged in the transaction is to come again. */
    private static void giveBack(
            Transaction transaction, Consumer<byte[]> consumer, List<Message<byte[]>> transfers) {
        try {
            if (transaction != null) {
                transaction.abort().get();
            }
        } catch (Exception error) {
            System.err.println("not aborted: " + error);
        }
        for (Message<byte[]> transfer : transfers) {
            consumer.negativeAcknowledge(transfer);
        }
    }
}
