# Prints the number and the mean of the pH values of each year. Base R, no packages.
# The argument is the address of a Weir server, such as https://your-host.example for real data.
server <- c(commandArgs(trailingOnly = TRUE), "http://127.0.0.1:8000")[1] # default: the demo

url <- paste0(
  server, "/Records.csv",
  "?$filter=CharacteristicName%20eq%20%27pH%27",
  "&$select=ActivityStartDate,ResultValue"
)
options(timeout = 3600) # seconds; the default of 60 interrupts long downloads
records <- read.csv(url, na.strings = "")

year <- substr(records$ActivityStartDate, 1, 4)
count <- tapply(!is.na(records$ResultValue), year, sum)
mean <- tapply(records$ResultValue, year, mean, na.rm = TRUE)
cat(sprintf("%s %d %.2f\n", names(count), count, mean), sep = "")
