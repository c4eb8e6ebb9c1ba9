/**
 * The root address of the DataStream service, for production data.
 *
 * Source: water-quality-api, Addresses.
 */
export const PRODUCTION_URL = "https://api.datastream.org/v1/odata/v4";

/**
 * The root address of the service's test system, for trying out a script.
 *
 * Source: water-quality-api, Addresses.
 */
export const QA_URL = "https://api.qa.datastream.org/v1/odata/v4";
