import java.util.Enumeration;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

/**
 * What BookKeeper's own client does: METADATA_SERVICE_URI, then one after the other write=ENTRIES or
 * close=ENTRIES, which prints the id of a ledger that is then left open or not, and read=LEDGER or
 * recover=LEDGER, which prints its entries. What it prints begins with ">", unlike its log.
 */
public class OtherClient {
    private static final BookKeeper.DigestType DIGEST = BookKeeper.DigestType.CRC32C;
    private static final byte[] PASSWORD = new byte[0];

    public static void main(String[] args) throws Exception {
        ClientConfiguration conf = new ClientConfiguration();
        conf.setMetadataServiceUri(args[0]);
        BookKeeper client = new BookKeeper(conf);
        for (int at = 1; at < args.length; at++) {
            String[] asked = args[at].split("=");
            long number = Long.parseLong(asked[1]);
            switch (asked[0]) {
                case "write" -> System.out.println("> wrote " + written(client, number).getId());
                case "close" -> {
                    LedgerHandle ledger = written(client, number);
                    ledger.close();
                    System.out.println("> wrote " + ledger.getId());
                }
                case "read" -> show(client.openLedgerNoRecovery(number, DIGEST, PASSWORD));
                case "recover" -> show(client.openLedger(number, DIGEST, PASSWORD));
                default -> throw new IllegalArgumentException(args[at]);
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);  // As one that is killed.
    }

    private static LedgerHandle written(BookKeeper client, long entries) throws Exception {
        LedgerHandle ledger = client.createLedger(3, 2, 2, DIGEST, PASSWORD);
        for (int number = 0; number < entries; number++) {
            ledger.addEntry(("entry " + number).getBytes());
        }
        return ledger;
    }

    private static void show(LedgerHandle ledger) throws Exception {
        System.out.println("> of " + ledger.getId() + " closed " + ledger.isClosed());
        Enumeration<LedgerEntry> entries = ledger.readEntries(0, ledger.getLastAddConfirmed());
        while (entries.hasMoreElements()) {
            LedgerEntry entry = entries.nextElement();
            System.out.println("> " + entry.getEntryId() + " " + new String(entry.getEntry()));
        }
    }
}
