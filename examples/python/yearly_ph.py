# Prints the number and the mean of the pH values of each year. Needs pandas.
# The argument is the address of a Weir server, such as https://your-host.example for real data.
import sys
from urllib.parse import quote

import pandas as pd

server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"  # default: the demo
filter = quote("CharacteristicName eq 'pH'")
records = pd.read_csv(
    f"{server}/Records.csv?$filter={filter}&$select=ActivityStartDate,ResultValue",
    # With these, only an empty cell is missing: pandas would also read the unit "None" as missing. For columns of
    # identifiers, add dtype={"MonitoringLocationID": str}, so that 0012 does not become 12.
    keep_default_na=False,
    na_values=[""],
)

year = records["ActivityStartDate"].str[:4]
for name, values in records.groupby(year)["ResultValue"]:
    print(name, values.count(), f"{values.mean():.2f}")
