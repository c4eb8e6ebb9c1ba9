#!/usr/bin/env node
/**
 * The command line as npm installs it: in Node and Bun, a module cannot always detect that it is
 * the main one.
 *
 * @module
 */
import { start } from "./start.ts";

start();
