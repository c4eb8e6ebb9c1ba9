# Prints the number and the mean of the pH values of each year, from a Parquet file. Needs pandas and pyarrow.
# The argument is the address of a Weir server, such as https://your-host.example for real data.
import io
import sys
from urllib.parse import quote
from urllib.request import urlopen

import pandas as pd

server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"  # default: the demo
filter = quote("CharacteristicName eq 'pH'")
url = f"{server}/Records.parquet?$filter={filter}&$select=ActivityStartDate,ResultValue"
with urlopen(url) as response:
    records = pd.read_parquet(io.BytesIO(response.read()))
dated = records.dropna(subset=["ActivityStartDate"])
years = dated.groupby(pd.to_datetime(dated["ActivityStartDate"]).dt.year)["ResultValue"]
for year, values in years:
    print(year, values.count(), f"{values.mean():.2f}")
