package statebridge.bank;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Six fields of six types, one of them often null. Flink 1 writes the list with Kryo, Flink 2 with a serializer of its own. */
public class Profile {
    private static final String[] TAGS = {"new", "gold", "student", "abroad", "über", "café"};

    public String name;
    public String email;
    public int level;
    public double score;
    public LocalDate since;
    public List<String> tags;

    public Profile() {}

    static Profile random(long id, Random random) {
        Profile p = new Profile();
        p.name = "Holder " + id;
        p.email = random.nextInt(3) == 0 ? null : "holder" + id + "@example.org";
        p.level = random.nextInt(10) - 2;
        p.score = random.nextInt(4000) / 4.0;
        p.since = LocalDate.of(2020, 1, 1).plusDays(random.nextInt(2000));
        p.tags = new ArrayList<>();
        for (int n = random.nextInt(4); n > 0; n--) {
            p.tags.add(TAGS[random.nextInt(TAGS.length)]);
        }
        return p;
    }

    String json() {
        StringBuilder tags = new StringBuilder();
        for (String tag : this.tags) {
            tags.append(tags.length() == 0 ? "" : ",").append(Json.string(tag));
        }
        return "{\"name\":" + Json.string(name) + ",\"email\":" + Json.string(email) + ",\"level\":" + level
                + ",\"score\":" + score + ",\"since\":" + Json.string(since.toString()) + ",\"tags\":[" + tags + "]}";
    }
}
