package statebridge.kinds;

import java.net.URI;
import org.apache.flink.core.fs.EntropyInjectingFileSystem;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.local.LocalFileSystem;

/** The local disk under a scheme of its own, with a random part in the paths of files, as S3 file systems have it. */
public final class EntropyFileSystem extends LocalFileSystem implements EntropyInjectingFileSystem {
    @Override
    public URI getUri() {
        return URI.create("entropy:///");
    }

    @Override
    public String getEntropyInjectionKey() {
        return "_entropy_";
    }

    @Override
    public String generateEntropy() {
        return "%04x".formatted((int) (Math.random() * 0x10000));
    }

    /** Found by its service file. */
    public static final class Factory implements FileSystemFactory {
        @Override
        public String getScheme() {
            return "entropy";
        }

        @Override
        public FileSystem create(URI uri) {
            return new EntropyFileSystem();
        }
    }
}
