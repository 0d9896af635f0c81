import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** Writes a ledger with BookKeeper's own client: METADATA_SERVICE_URI ENTRIES CLOSE; prints its id. */
public class WriteLedger {
    public static void main(String[] args) throws Exception {
        ClientConfiguration conf = new ClientConfiguration();
        conf.setMetadataServiceUri(args[0]);
        LedgerHandle ledger = new BookKeeper(conf)
                .createLedger(3, 2, 2, BookKeeper.DigestType.CRC32C, new byte[0]);
        for (int number = 0; number < Integer.parseInt(args[1]); number++) {
            ledger.addEntry(("entry " + number).getBytes());
        }
        if (Boolean.parseBoolean(args[2])) {
            ledger.close();
        }
        System.out.println("ledger " + ledger.getId());
        System.out.flush();
        Runtime.getRuntime().halt(0);  // As one that is killed.
    }
}
