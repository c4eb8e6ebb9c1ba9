// Fails in the package, so that Node prints a stack trace.
import { endpoint } from "@weir/datastream/endpoint";

endpoint("GET /{resource");
