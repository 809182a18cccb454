package statebridge.kinds;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

/** Classes of values. */
public final class Shapes {
    private Shapes() {}

    public enum Color { RED, GREEN, BLUE }

    /** A POJO with subclasses: Circle is registered, Square is not. */
    public static class Shape {
        public int id;
        public String name;

        public Shape() {}

        Shape(int id, String name) {
            this.id = id;
            this.name = name;
        }

        @Override
        public boolean equals(Object o) {
            return o instanceof Shape s && s.id == id;
        }

        @Override
        public int hashCode() {
            return id;
        }
    }

    public static class Circle extends Shape {
        public double radius;
        public Color color;

        public Circle() {}

        Circle(int id, String name, double radius, Color color) {
            super(id, name);
            this.radius = radius;
            this.color = color;
        }
    }

    public static class Square extends Shape {
        public long[] sides;

        public Square() {}

        Square(int id, String name, long[] sides) {
            super(id, name);
            this.sides = sides;
        }
    }

    public static class Box {
        public Shape top;
        public Shape[] shapes;
        public String[][] grid;
        public Integer[] boxed;
        public byte[] raw;
        public BigInteger big;
        public BigDecimal price;
        public Instant at;
        public LocalDate day;
        public UUID id;
        public Color color;
        public Object any;
        public List<Long> longs;
        public Map<String, Double> scores;
        public boolean flag;
        public char letter;
        public float ratio;

        public Box() {}
    }

    /** Ordered as a key. */
    public record Point(int x, String label, Long weight) {
        public Point {
            Objects.requireNonNull(label);
        }
    }

    /** Not known to Flink but as a class of Kryo's. */
    public static class Plain {
        public final int n;
        private final String text;
        final List<Object> parts = new ArrayList<>();

        private Plain() {
            this(0, "");
        }

        public Plain(int n, String text) {
            this.n = n;
            this.text = text;
        }
    }
}
