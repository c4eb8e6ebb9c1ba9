// Real waters at which the sandbox has its synthetic stations.

/** A lake or river, with the position and elevation (m) of a point on it. */
type Water = [name: string, latitude: number, longitude: number, elevation: number, type: string];

/** A province or territory. */
interface Province {
  code: string;
  hub: string;
  /** Offset of its standard time. */
  zone: string;
  /** One water of each dataset, in the order of the datasets. */
  waters: Water[];
}

// Values of DataStream's schema 3.0.0 (2026-07-14).
const [RIVER, LAKE, GREAT_LAKE, RESERVOIR, ESTUARY] = [
  "River/Stream",
  "Lake/Pond",
  "Great Lake",
  "Reservoir",
  "Estuary",
];

/** All provinces and territories. */
export const PROVINCES: readonly Province[] = [
  {
    code: "ab",
    hub: "hub.mackenzie",
    zone: "-07:00",
    waters: [
      ["Pigeon Lake", 53.02, -114.05, 850, LAKE],
      ["Bow River at Calgary", 51.05, -114.05, 1041, RIVER],
      ["Fish Creek", 50.91, -114.03, 1030, RIVER],
      ["Glenmore Reservoir", 50.98, -114.12, 1076, RESERVOIR],
      ["Athabasca River near Old Fort", 58.38, -111.52, 210, RIVER],
    ],
  },
  {
    code: "bc",
    hub: "hub.pacific",
    zone: "-08:00",
    waters: [
      ["Okanagan Lake", 49.87, -119.52, 342, LAKE],
      ["Fraser River at Hope", 49.39, -121.45, 38, RIVER],
      ["Mission Creek", 49.87, -119.42, 380, RIVER],
      ["Capilano Lake", 49.37, -123.11, 146, RESERVOIR],
      ["Fraser River at Steveston", 49.11, -123.19, 0, ESTUARY],
    ],
  },
  {
    code: "mb",
    hub: "hub.lakewinnipeg",
    zone: "-06:00",
    waters: [
      ["Lake Winnipeg off Gimli", 50.64, -96.9, 217, LAKE],
      ["Red River at Selkirk", 50.14, -96.87, 219, RIVER],
      ["Omand's Creek", 49.89, -97.2, 231, RIVER],
      ["Lake of the Prairies", 51.03, -101.43, 429, RESERVOIR],
      ["Winnipeg River at Pine Falls", 50.57, -96.22, 218, RIVER],
    ],
  },
  {
    code: "nb",
    hub: "hub.atlantic",
    zone: "-04:00",
    waters: [
      ["Grand Lake", 45.98, -66.03, 2, LAKE],
      ["Petitcodiac River at Moncton", 46.09, -64.77, 3, RIVER],
      ["Nashwaaksis Stream", 45.98, -66.66, 12, RIVER],
      ["Mactaquac Headpond", 45.96, -66.9, 40, RESERVOIR],
      ["Miramichi River at Loggieville", 47.07, -65.38, 0, ESTUARY],
    ],
  },
  {
    code: "nl",
    hub: "hub.atlantic",
    zone: "-03:30",
    waters: [
      ["Gander Lake", 48.92, -54.6, 25, LAKE],
      ["Exploits River at Grand Falls", 48.93, -55.66, 80, RIVER],
      ["Rennies River", 47.575, -52.71, 20, RIVER],
      ["Smallwood Reservoir", 54.1, -64.1, 471, RESERVOIR],
      ["Churchill River at Mud Lake", 53.31, -60.17, 1, ESTUARY],
    ],
  },
  {
    code: "ns",
    hub: "hub.atlantic",
    zone: "-04:00",
    waters: [
      ["Kejimkujik Lake", 44.38, -65.25, 90, LAKE],
      ["LaHave River at Bridgewater", 44.38, -64.52, 4, RIVER],
      ["Sackville River at Bedford", 44.73, -63.67, 5, RIVER],
      ["Pockwock Lake", 44.78, -63.85, 105, LAKE],
      ["Annapolis River at Annapolis Royal", 44.74, -65.51, 0, ESTUARY],
    ],
  },
  {
    code: "nt",
    hub: "hub.mackenzie",
    zone: "-07:00",
    waters: [
      ["Great Slave Lake, Yellowknife Bay", 62.42, -114.33, 156, LAKE],
      ["Mackenzie River at Fort Simpson", 61.87, -121.36, 124, RIVER],
      ["Baker Creek", 62.5, -114.36, 160, RIVER],
      ["Yellowknife River above the bay", 62.52, -114.31, 157, RIVER],
      ["Mackenzie River, East Channel at Inuvik", 68.36, -133.74, 4, RIVER],
    ],
  },
  {
    code: "nu",
    hub: "hub.mackenzie",
    zone: "-06:00",
    waters: [
      ["Baker Lake", 64.17, -95.5, 2, LAKE],
      ["Thelon River below Schultz Lake", 64.4, -96.65, 15, RIVER],
      ["Apex River at Iqaluit", 63.74, -68.45, 10, RIVER],
      ["Lake Geraldine", 63.757, -68.5, 106, RESERVOIR],
      ["Kazan River near Baker Lake", 64.03, -95.48, 3, RIVER],
    ],
  },
  {
    code: "on",
    hub: "hub.greatlakes",
    zone: "-05:00",
    waters: [
      ["Lake Simcoe", 44.43, -79.33, 219, LAKE],
      ["Grand River at Brantford", 43.13, -80.27, 198, RIVER],
      ["Duffins Creek at Ajax", 43.83, -79.04, 78, RIVER],
      ["Lake Ontario off Port Credit", 43.54, -79.57, 75, GREAT_LAKE],
      ["Thames River at Chatham", 42.41, -82.19, 176, RIVER],
    ],
  },
  {
    code: "pe",
    hub: "hub.atlantic",
    zone: "-04:00",
    waters: [
      ["Dalvay Lake", 46.416, -63.074, 2, LAKE],
      ["Dunk River", 46.35, -63.63, 6, RIVER],
      ["Winter River at Suffolk", 46.33, -63.07, 9, RIVER],
      ["Scales Pond", 46.36, -63.56, 18, LAKE],
      ["Hillsborough River at Charlottetown", 46.25, -63.1, 0, ESTUARY],
    ],
  },
  {
    code: "qc",
    hub: "hub.greatlakes",
    zone: "-05:00",
    waters: [
      ["Lac Saint-Jean", 48.58, -72.03, 98, LAKE],
      ["Rivière Chaudière à Saint-Georges", 46.12, -70.67, 167, RIVER],
      ["Rivière Saint-Charles à Québec", 46.83, -71.28, 20, RIVER],
      ["Réservoir Gouin", 48.62, -74.8, 404, RESERVOIR],
      ["Rivière Saguenay à Tadoussac", 48.13, -69.72, 0, ESTUARY],
    ],
  },
  {
    code: "sk",
    hub: "hub.lakewinnipeg",
    zone: "-06:00",
    waters: [
      ["Lac La Ronge", 55.1, -104.97, 364, LAKE],
      ["South Saskatchewan River at Saskatoon", 52.13, -106.65, 474, RIVER],
      ["Wascana Creek at Regina", 50.48, -104.72, 567, RIVER],
      ["Buffalo Pound Lake", 50.63, -105.46, 509, RESERVOIR],
      ["Saskatchewan River at Cumberland House", 53.95, -102.27, 266, RIVER],
    ],
  },
  {
    code: "yt",
    hub: "hub.pacific",
    zone: "-07:00",
    waters: [
      ["Lake Laberge", 61.18, -135.2, 628, LAKE],
      ["Yukon River at Whitehorse", 60.72, -135.05, 633, RIVER],
      ["Wolf Creek", 60.6, -134.95, 720, RIVER],
      ["Schwatka Lake", 60.69, -135.03, 653, RESERVOIR],
      ["Klondike River at Dawson", 64.05, -139.43, 320, RIVER],
    ],
  },
];
