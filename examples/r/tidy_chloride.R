# Prints the number of chloride results of each kind, those without bounds, and the Kaplan-Meier mean. Needs survival,
# which comes with R; on Debian it is the package r-cran-survival.
# The argument is the address of a Weir server, such as https://your-host.example for real data.
library(survival)

server <- c(commandArgs(trailingOnly = TRUE), "http://127.0.0.1:8000")[1] # default: the demo
url <- paste0(
  server, "/Observations.csv",
  "?$filter=CharacteristicName%20eq%20%27Chloride%27&$select=LocationId",
  "&tidy=true&excludeQualityControl=true&unit=Chloride=mg/L"
)
options(timeout = 3600) # seconds; the default of 60 interrupts long downloads
# Without classes, a column without values becomes logical.
classes <- c(value = "numeric", lower = "numeric", upper = "numeric", unit = "character")
rows <- read.csv(url, na.strings = "", colClasses = classes)
kinds <- table(rows$censoring)
cat(sprintf("%s %d\n", names(kinds), kinds), sep = "")

# Models of survival take these bounds. They drop the rows whose bounds are both empty.
bounds <- Surv(rows$lower, rows$upper, type = "interval2")
cat(sprintf("without bounds %d\n", sum(is.na(bounds))))

# A Kaplan-Meier curve needs censoring on the right, so results below a limit are flipped. Results above a limit, and
# those without bounds, are left out: their number is printed above.
bounded <- rows[rows$censoring %in% c("none", "left"), ]
isDetected <- bounded$censoring == "none"
top <- max(bounded$value) + 1
curve <- survfit(Surv(top - bounded$value, isDetected) ~ 1)
# The part of the curve below the lowest detected value counts as this value (Efron).
flipped <- summary(curve, rmean = top - min(bounded$value[isDetected]))$table["rmean"]
cat(sprintf("mean %.2f mg/L\n", top - flipped))
