# Prints the number of chloride results of each kind, and their Kaplan-Meier mean. Needs pandas.
# The argument is the address of a Weir server, such as https://your-host.example for real data.
import sys
from urllib.parse import quote

import pandas as pd

server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"  # default: the demo
filter = quote("CharacteristicName eq 'Chloride'")
rows = pd.read_csv(
    f"{server}/Observations.csv?$filter={filter}&$select=LocationId"
    "&tidy=true&excludeQualityControl=true&unit=Chloride=mg/L",
    # Without these, pandas reads the unit "None" as a missing value.
    keep_default_na=False,
    na_values=[""],
)
for kind, number in rows["censoring"].value_counts().sort_index().items():
    print(kind, number)

# Results below a limit are censored on the left: the estimate goes from the highest value down.
# Results above a limit, and those without an interval, are left out: their number is printed above.
bounded = rows[rows["censoring"].isin(["none", "left"])]
detected = bounded[bounded["censoring"] == "none"]
mean, share = 0.0, 1.0  # share: the part of the distribution at or below the value
for value, same in sorted(detected.groupby("value"), reverse=True):
    below = share * (1 - len(same) / (bounded["value"] <= value).sum())
    mean += value * (share - below)
    share = below
mean += detected["value"].min() * share  # the rest is at most the lowest value (Efron)
print(f"mean {mean:.2f} mg/L")
