# Prints the number and the mean of the pH values of each year, from a Parquet file. Needs the package arrow or nanoparquet.
# The argument is the address of a Weir server, such as https://your-host.example for real data.
server <- c(commandArgs(trailingOnly = TRUE), "http://127.0.0.1:8000")[1] # default: the demo

url <- paste0(
  server, "/Records.parquet",
  "?$filter=CharacteristicName%20eq%20%27pH%27",
  "&$select=ActivityStartDate,ResultValue"
)
options(timeout = 3600) # seconds; the default of 60 interrupts long downloads
file <- tempfile(fileext = ".parquet")
download.file(url, file, mode = "wb", quiet = TRUE)
read <- if (requireNamespace("arrow", quietly = TRUE)) arrow::read_parquet else nanoparquet::read_parquet
records <- read(file)

year <- format(records$ActivityStartDate, "%Y")
count <- tapply(!is.na(records$ResultValue), year, sum)
mean <- tapply(records$ResultValue, year, mean, na.rm = TRUE)
cat(sprintf("%s %d %.2f\n", names(count), count, mean), sep = "")
