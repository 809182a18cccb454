package config

import "time"

// Config is the whole file. Tags are the single source of what JSON Schema, environment and decoder know of a member:
// yaml its name, doc its meaning, default its value when absent, enum its choices, min and max its bounds.
type Config struct {
	NATS      NATS       `yaml:"nats" doc:"The NATS server that carries the changes."`
	Storage   Storage    `yaml:"storage" doc:"How remote files are reached. Credentials come from where each cloud's own tools look for them, never from here."`
	Source    Source     `yaml:"source" doc:"The job whose snapshots are followed." required:"true"`
	Consumers []Consumer `yaml:"consumers" doc:"The states that are published, one entry each." required:"true"`
	Sinks     []Sink     `yaml:"sinks" doc:"The targets that are kept equal to the newest snapshot. Without any, changes are published only."`
	Role      string     `yaml:"role" default:"all" enum:"all,publish,apply" doc:"What run does: publish the changes, apply them to the sinks, or both. For processes apart, over one NATS server."`
	DataDir   string     `yaml:"data_dir" default:"./statebridge-data" doc:"The only directory that is written: embedded server, pins, spill files, SQLite database of the demo."`
	Memory    Size       `yaml:"memory" default:"512MiB" doc:"What the process may take in all, at least 128MiB. What does not fit is sorted in data_dir."`
	Log       Log        `yaml:"log" doc:"Logging, to standard error."`
}

// What run does.
const (
	RoleAll     = "all"
	RolePublish = "publish"
	RoleApply   = "apply"
)

// NATS says which server is used, and how.
type NATS struct {
	URL          Secret        `yaml:"url" doc:"Servers, separated by commas (nats, tls, ws, wss). Empty: a server inside the process, stored in data_dir."`
	URLFile      string        `yaml:"url_file" doc:"File that holds url."`
	Prefix       string        `yaml:"prefix" default:"statebridge" doc:"First token of every subject, and of the names of streams and buckets."`
	Creds        string        `yaml:"creds" doc:"Credentials file (JWT and seed)."`
	User         string        `yaml:"user" doc:"User name; with listen, the one that the embedded server asks for."`
	Password     Secret        `yaml:"password" doc:"Password of that user."`
	PasswordFile string        `yaml:"password_file" doc:"File that holds password."`
	NKey         string        `yaml:"nkey" doc:"File that holds the seed of an NKey."`
	TLS          TLS           `yaml:"tls" doc:"TLS towards the server."`
	Domain       string        `yaml:"domain" doc:"JetStream domain whose streams are used, behind a leaf node or in front of one. Empty: that of the server."`
	Replicas     int           `yaml:"replicas" default:"1" min:"1" max:"5" doc:"Servers of a cluster that hold each stream and bucket created."`
	Listen       string        `yaml:"listen" doc:"Loopback host:port on which the embedded server takes outside subscribers. Empty: none."`
	Keep         time.Duration `yaml:"keep" default:"24h" doc:"How long an epoch stays in the stream after every sink has applied it."`
}

// TLS names files in PEM.
type TLS struct {
	CA   string `yaml:"ca" doc:"Certificates that the server's must chain to. Empty: those of the system."`
	Cert string `yaml:"cert" doc:"Client certificate."`
	Key  string `yaml:"key" doc:"Key of the client certificate."`
}

// Storage says how remote files are reached.
type Storage struct {
	CA       string `yaml:"ca" doc:"Certificates (PEM) that servers may chain to, beside the system's."`
	Requests int    `yaml:"requests" default:"512" min:"1" max:"1024" doc:"Requests under way at once to each store; fewer where the memory is small, and as long as the store refuses some for being asked too much."`
	Cache    string `yaml:"cache" doc:"Directory in which commands, run and verify among them, keep what they read of the files of remote snapshots. Empty: nothing is kept."`
	CacheMiB int    `yaml:"cache_mib" default:"1024" min:"1" max:"1048576" doc:"Mebibytes that the cache may hold."`
	S3       S3     `yaml:"s3" doc:"Amazon S3 and what speaks its protocol."`
	GCS      GCS    `yaml:"gcs" doc:"Google Cloud Storage."`
	Azure    Azure  `yaml:"azure" doc:"Azure Blob Storage and Data Lake Storage."`
	HDFS     HDFS   `yaml:"hdfs" doc:"HDFS, through WebHDFS or HttpFS."`
}

// GCS says where buckets are.
type GCS struct {
	Endpoint string `yaml:"endpoint" doc:"URL of the service. Empty: that of STORAGE_EMULATOR_HOST, or Google's."`
}

// Azure says where containers are.
type Azure struct {
	Endpoint string `yaml:"endpoint" doc:"URL of the Blob service, for private endpoints and emulators. Empty: the account's of each address."`
}

// HDFS says where files are.
type HDFS struct {
	Address   string `yaml:"address" doc:"URLs of the NameNodes' REST interfaces (http, https), separated by commas; hdfs addresses need one. Empty: the host of webhdfs and swebhdfs addresses."`
	User      string `yaml:"user" doc:"Who asks. Empty: HADOOP_USER_NAME, or who runs the program."`
	TokenFile string `yaml:"token_file" doc:"File that holds a delegation token, where HDFS uses Kerberos."`
}

// S3 says where buckets are.
type S3 struct {
	Endpoint  string `yaml:"endpoint" doc:"URL of the service (Flink's s3.endpoint). Empty: that of AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's."`
	Region    string `yaml:"region" doc:"Region of the buckets. Empty: that of AWS_REGION, AWS_DEFAULT_REGION, or the bucket's, which is then asked for."`
	PathStyle string `yaml:"path_style" default:"auto" enum:"auto,true,false" doc:"Whether the bucket stands in the path instead of the host name (Flink's s3.path.style.access). auto: as the endpoint suggests."`
}

// Source is one followed job.
type Source struct {
	Name       string `yaml:"name" doc:"Name of the source on the wire and in logs." required:"true"`
	Flink      Flink  `yaml:"flink" doc:"A Flink job." required:"true"`
	Partitions int    `yaml:"partitions" default:"4" min:"1" max:"1024" doc:"Ranges of key groups that are published side by side; order is kept inside each."`

	MaxDeletePercent int `yaml:"max_delete_percent" default:"50" min:"1" max:"100" doc:"A step that deletes a larger share of a consumer's rows waits until somebody accepts it. 100: none does."`
	MaxDeleteRows    int `yaml:"max_delete_rows" default:"10" min:"0" max:"1000000000" doc:"So many rows may be deleted in one step whatever their share."`
}

// Flink says where a job leaves its snapshots.
type Flink struct {
	Checkpoints string        `yaml:"checkpoints" doc:"The job's state.checkpoints.dir, or the directory of one job in it: a path, or a URI as Flink has it (file, s3, s3a, s3n, s3p, gs, abfs, abfss, wasb, wasbs, hdfs, webhdfs, swebhdfs)." required:"true"`
	Job         string        `yaml:"job" doc:"Id of the job, where the directory holds several. Empty: the one with the newest checkpoint."`
	REST        string        `yaml:"rest" doc:"Address of the JobManager's REST API (http, https), asked for completed checkpoints. Empty: the directory alone is watched."`
	PathMap     []string      `yaml:"path_map" doc:"FROM=TO: a file that the metadata names below FROM is looked for below TO. The longest FROM that fits comes first."`
	Decode      []string      `yaml:"decode" doc:"CLASS=FORM: how to decode a class that snapshots do not describe: utf8, json, hex, protobuf:FILE#Message, avro:FILE, fields:name:type,…, enum:NAME,NAME,…; int32: or varint: before one of the first five says that a length stands before the bytes."`
	Poll        time.Duration `yaml:"poll" default:"1s" doc:"How often to look for a new snapshot."`
}

// Consumer is one published state.
type Consumer struct {
	Name         string   `yaml:"name" doc:"Name of the consumer; a sink's table is named after it." required:"true"`
	Operator     string   `yaml:"operator" doc:"Operator that holds the state: its uid, name or id." required:"true"`
	State        string   `yaml:"state" doc:"Name of the state, as the job registered it." required:"true"`
	ValueColumns []string `yaml:"value_columns" doc:"Names of the fields of the SQL row that the state holds, all of them in order: of its value, or of its map key when the value is no row. Absent: f0, f1, …"`
	Columns      Columns  `yaml:"columns" doc:"Columns in order: name to path (key, key.f0, namespace.start, map_key, value, value.name, ttl_ts), or to {path: …, type: text}, which shows any value as text. Absent: taken from the state's schema."`

	MaxDeletePercent int `yaml:"max_delete_percent" min:"0" max:"100" doc:"source.max_delete_percent for this consumer; absent or 0: as there."`
}

// Columns keeps the order of the file.
type Columns []Column

// Column is one column, where its value comes from, and its type: Text, or "" for that of the value.
type Column struct{ Name, Path, Type string }

// Text is the type of a column that shows its values as text.
const Text = "text"

// Sink is one target; exactly one of the pointers is set.
type Sink struct {
	Name      string    `yaml:"name" doc:"Name of the sink; its progress is kept under it." required:"true"`
	Consumers []string  `yaml:"consumers" doc:"Consumers that it mirrors." required:"true"`
	Drift     string    `yaml:"schema_drift" default:"add" enum:"add,stop,ignore" doc:"When the state's schema grows: add columns and widen numbers, stop until somebody has altered the table, or ignore what is new."`
	BadValue  string    `yaml:"on_bad_value" default:"reject" enum:"reject,replace" doc:"When the target can't hold a value: reject the epoch, which waits, or replace the value by a fixed stand-in, never in a key."`
	Refused   string    `yaml:"refused_rows" default:"wait" enum:"wait,dead_letter" doc:"When the target can't hold a row: wait until its epoch fits or a newer full one does, or make the row a dead letter and go on without it."`
	Atomic    string    `yaml:"atomic" default:"table" enum:"table,source" doc:"What a reader sees change at once: each table, or all tables of this sink together, so that they always show the same checkpoint. source: postgres and sqlite."`
	Postgres  *Postgres `yaml:"postgres" doc:"A PostgreSQL database." oneof:"target"`
	Redis     *Redis    `yaml:"redis" doc:"A Redis server or cluster." oneof:"target"`
	SQLite    *SQLite   `yaml:"sqlite" doc:"A SQLite file." oneof:"target"`
}

// DeadLetter is the choice of a Sink's Refused that goes on without the row.
const DeadLetter = "dead_letter"

// Postgres is a database.
type Postgres struct {
	URL     Secret `yaml:"url" doc:"Connection string (postgres, postgresql); TLS is set by its sslmode and sslrootcert parameters."`
	URLFile string `yaml:"url_file" doc:"File that holds url."`
	Schema  string `yaml:"schema" default:"public" doc:"Schema of the mirrored tables."`
}

// Redis is a server or cluster.
type Redis struct {
	URL      Secret        `yaml:"url" doc:"Address (redis, rediss, unix), with user, password and database number."`
	URLFile  string        `yaml:"url_file" doc:"File that holds url."`
	Key      string        `yaml:"key" doc:"Template of a row's key, columns in braces: accounts:{id}. Empty: the consumer's name, a colon, and the key columns."`
	Encoding string        `yaml:"encoding" default:"hash" enum:"hash,json,string" doc:"A row as a hash with a field for each column, as one JSON string, or as the bare value of its only column beside the key."`
	Publish  string        `yaml:"publish" default:"rows" enum:"rows,swap" doc:"Readers see each row as it is written, or with swap all rows of a checkpoint at once, below a prefix that the progress names."`
	Grace    time.Duration `yaml:"grace" default:"1s" doc:"With publish swap: how long the rows of the version before stay as they are for readers that have asked for the prefix. 0s: not at all."`
	TLS      TLS           `yaml:"tls" doc:"TLS towards the server, with a rediss address."`
}

// SQLite is a database in a file.
type SQLite struct {
	Path string `yaml:"path" doc:"The database file; created when absent." required:"true"`
}

// Log is where and how much to log.
type Log struct {
	Level  string `yaml:"level" default:"info" enum:"debug,info,warn,error" doc:"Least level that is logged."`
	Format string `yaml:"format" default:"text" enum:"text,json" doc:"Form of a log line."`
}
