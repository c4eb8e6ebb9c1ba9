// Loads the package from CommonJS with `import()`, which every supported TypeScript accepts.
async function program(): Promise<void> {
  const { DataStream, eq } = await import("@weir/datastream");
  const { createSandbox } = await import("@weir/datastream/sandbox");
  const { apiKey, url, fetch } = createSandbox();
  const client = new DataStream({ apiKey, baseUrl: url, fetch });
  const count: number = await client.locations({ filter: eq("RegionId", "admin.4.ca.pe") }).count();
  console.log(count);
  // @ts-expect-error Locations have no such field
  void (() => client.locations({ select: ["ResultValue"] }));
}

void program();
