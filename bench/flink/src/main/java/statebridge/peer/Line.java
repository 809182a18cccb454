package statebridge.peer;

import statebridge.bank.Profile;

/** Rows as JSON, appended without garbage. */
final class Line {
    private Line() {}

    static StringBuilder key(StringBuilder to, long key) {
        return to.append("{\"key\":").append(key);
    }

    static StringBuilder value(StringBuilder to, Profile p) {
        if (p == null) {
            return to.append("null");
        }
        string(to.append("{\"name\":"), p.name);
        string(to.append(",\"email\":"), p.email);
        to.append(",\"level\":").append(p.level).append(",\"score\":").append(p.score);
        to.append(",\"since\":\"").append(p.since).append("\",\"tags\":[");
        for (int i = 0; i < p.tags.size(); i++) {
            string(i == 0 ? to : to.append(','), p.tags.get(i));
        }
        return to.append("]}");
    }

    private static void string(StringBuilder to, String s) {
        if (s == null) {
            to.append("null");
            return;
        }
        to.append('"');
        for (int i = 0; i < s.length(); i++) {
            char c = s.charAt(i);
            if (c == '"' || c == '\\') {
                to.append('\\').append(c);
            } else if (c < 0x20) {
                to.append(String.format("\\u%04x", (int) c));
            } else {
                to.append(c);
            }
        }
        to.append('"');
    }
}
